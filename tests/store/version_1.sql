BEGIN TRANSACTION;
CREATE TABLE cohorts (
	id INTEGER NOT NULL, 
	review_id VARCHAR(40) NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	rules JSON NOT NULL, 
	source VARCHAR(200) NOT NULL, 
	created FLOAT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(review_id) REFERENCES reviews (id)
);
CREATE TABLE comments (
	id INTEGER NOT NULL, 
	review_id VARCHAR(40) NOT NULL, 
	finding VARCHAR(300) NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	text TEXT NOT NULL, 
	created FLOAT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(review_id) REFERENCES reviews (id)
);
INSERT INTO "comments" VALUES(1,'9a3db7e3c06424fb6309','share|sex','Ben','why?',1.79577209379926300055e+09);
CREATE TABLE decisions (
	id INTEGER NOT NULL, 
	review_id VARCHAR(40) NOT NULL, 
	finding VARCHAR(300) NOT NULL, 
	decision VARCHAR(20) NOT NULL, 
	reason TEXT NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	expires VARCHAR(10), 
	statement TEXT NOT NULL, 
	run_ids JSON NOT NULL, 
	created FLOAT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(review_id) REFERENCES reviews (id)
);
INSERT INTO "decisions" VALUES(1,'9a3db7e3c06424fb6309','share|sex','accept','because','Ann',NULL,'a sentence','["8a25406c79b5da943188"]',1.79577209379830837242e+09);
CREATE TABLE files (
	id VARCHAR(40) NOT NULL, 
	sha256 VARCHAR(64) NOT NULL, 
	role VARCHAR(20) NOT NULL, 
	name VARCHAR(255) NOT NULL, 
	n_bytes INTEGER NOT NULL, 
	created FLOAT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "files" VALUES('56235c2357a85555a17b','21cf0be3d0b10f9c26bc990b68ba1604237af11e48114acc94cfb28d91852ac3','data','census_income.csv',284978,1.79577206421214985842e+09);
INSERT INTO "files" VALUES('4ab908b82a3f275261c6','c86f559e76cc0df905a0f8766f463d8651f75f4899cafec9abfb5460f9d5e5aa','model','census_income_network.keras',20762,1.7957720642149641514e+09);
CREATE TABLE meta (
	"key" VARCHAR(40) NOT NULL, 
	value VARCHAR(200), 
	PRIMARY KEY ("key")
);
INSERT INTO "meta" VALUES('version','1');
CREATE TABLE parts (
	run_id VARCHAR(40) NOT NULL, 
	start INTEGER NOT NULL, 
	n_pairs INTEGER NOT NULL, 
	file VARCHAR(60) NOT NULL, 
	PRIMARY KEY (run_id, start), 
	FOREIGN KEY(run_id) REFERENCES runs (id)
);
CREATE TABLE pins (
	review_id VARCHAR(40) NOT NULL, 
	run_id VARCHAR(40) NOT NULL, 
	pair_index INTEGER NOT NULL, 
	note TEXT NOT NULL, 
	created FLOAT NOT NULL, 
	PRIMARY KEY (review_id, run_id, pair_index), 
	FOREIGN KEY(review_id) REFERENCES reviews (id), 
	FOREIGN KEY(run_id) REFERENCES runs (id)
);
INSERT INTO "pins" VALUES('9a3db7e3c06424fb6309','8a25406c79b5da943188',3,'this one',1.7957720937977972031e+09);
CREATE TABLE progress (
	id INTEGER NOT NULL, 
	run_id VARCHAR(40) NOT NULL, 
	evaluations INTEGER NOT NULL, 
	seconds FLOAT NOT NULL, 
	n_tried INTEGER NOT NULL, 
	n_found INTEGER NOT NULL, 
	phase VARCHAR(200) NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(run_id) REFERENCES runs (id)
);
INSERT INTO "progress" VALUES(1,'8a25406c79b5da943188',4000,9.42595300000448332866e-02,2000,316,'measuring plausibility');
CREATE TABLE results (
	run_id VARCHAR(40) NOT NULL, 
	name VARCHAR(60) NOT NULL, 
	content JSON NOT NULL, 
	PRIMARY KEY (run_id, name), 
	FOREIGN KEY(run_id) REFERENCES runs (id)
);
INSERT INTO "results" VALUES('8a25406c79b5da943188','protections','{"memory": true, "group": false, "threads": true, "cpu_time": true, "file_size": true, "folder_size": true, "ends_with_parent": true, "rights": true, "files": true, "network": true, "programs": true}');
INSERT INTO "results" VALUES('8a25406c79b5da943188','reading','{"state": "plausible", "positive": ">50K", "positive_by": "nobody", "inputs_by": "person", "auc": 0.9828623489691963, "auc_reversed": 0.01713765103080367, "accuracy": 0.936, "accuracy_reversed": 0.06399999999999995, "reference_auc": 0.9530151632882116, "max_difference": null, "n_compared": null, "row": null, "given": null, "got": null, "ways": [], "better": {}, "advice": [], "guessed": []}');
INSERT INTO "results" VALUES('8a25406c79b5da943188','share_curve','[[20, 0.15, 0.032070937185463715, 0.37892682654531396], [40, 0.15, 0.057102258154525874, 0.29835266683957645], [60, 0.13333333333333333, 0.0593644227053572, 0.24592222113041984], [80, 0.1375, 0.0706878327038787, 0.23272087082472567], [100, 0.14, 0.07870540492696577, 0.22372798137056774], [120, 0.16666666666666666, 0.10487850197666283, 0.2456000380773185], [140, 0.17142857142857143, 0.11303434485013963, 0.24424854657974224], [160, 0.1625, 0.10898110823470951, 0.22896403864515194], [180, 0.16111111111111112, 0.11063211060835208, 0.22311706313113644], [200, 0.175, 0.12502441077371187, 0.23488397063020916], [220, 0.16818181818181818, 0.12126544613046461, 0.2242848699783111], [240, 0.17916666666666667, 0.13280274233498698, 0.23364834095401613], [260, 0.17307692307692307, 0.12913350372087828, 0.2246493248872745], [280, 0.16428571428571428, 0.122858677229855, 0.2129843771617425], [300, 0.16333333333333333, 0.12334431516706468, 0.21012027379924464], [320, 0.159375, 0.12102594375889485, 0.2041672103824898], [340, 0.15294117647058825, 0.11638135971480137, 0.1956774600127267], [360, 0.15833333333333333, 0.1221797852870023, 0.2002198806668297], [380, 0.17105263157894737, 0.13456637641618777, 0.21275598319754532], [400, 0.1675, 0.1322316810855705, 0.20777542933255816], [420, 0.16904761904761906, 0.13445248183620512, 0.20838461362826544], [440, 0.16590909090909092, 0.1323593653634545, 0.2040258871024807], [460, 0.1673913043478261, 0.1344196287787956, 0.20470831536864828], [480, 0.16458333333333333, 0.13252174603010172, 0.20084255499887357], [500, 0.162, 0.13078274531378534, 0.19727633608572556], [520, 0.1596153846153846, 0.12918391489522965, 0.19397577604806895], [540, 0.16111111111111112, 0.13110257982640713, 0.19488365512848702], [560, 0.15714285714285714, 0.12798205129844942, 0.18997501632401556], [580, 0.16206896551724137, 0.13299998407280514, 0.19462831877854309], [600, 0.16, 0.1315653366944979, 0.19182822395577534], [620, 0.16129032258064516, 0.1332024051799059, 0.19264789355456546], [640, 0.1609375, 0.13330400796599587, 0.19174037716357523], [660, 0.1621212121212121, 0.13480764121638197, 0.19249571825890952], [680, 0.16176470588235295, 0.13486900618244688, 0.1916332570600386], [700, 0.16285714285714287, 0.1362577306948675, 0.19233369883970738], [720, 0.1625, 0.1362865082768194, 0.19151264900815962], [740, 0.1635135135135135, 0.13757538052383383, 0.1921657229454595], [760, 0.1631578947368421, 0.13757757167709367, 0.19138276758556547], [780, 0.16025641025641027, 0.13519431587855776, 0.18791710347515667], [800, 0.15875, 0.13409640010290844, 0.18594789201548437], [820, 0.16097560975609757, 0.13646653057344085, 0.18794949382656406], [840, 0.15714285714285714, 0.1331737061848756, 0.1835452633623577], [860, 0.1569767441860465, 0.1332909079827953, 0.18303968652739586], [880, 0.15795454545454546, 0.13446779499972739, 0.18375688084831546], [900, 0.15666666666666668, 0.13351834851483715, 0.18208719287253605], [920, 0.15760869565217392, 0.13464608078794013, 0.18278723666636332], [940, 0.1574468085106383, 0.1347333436204682, 0.1823295058968819], [960, 0.15833333333333333, 0.13579606293534993, 0.182988443745673], [980, 0.15918367346938775, 0.13681926957534424, 0.18361687106841287], [1000, 0.158, 0.1359265161849648, 0.18210760248785854], [1020, 0.15784313725490196, 0.13599099114345942, 0.1816899653533568], [1040, 0.1576923076923077, 0.1360549278349528, 0.18128642672295248], [1060, 0.15754716981132075, 0.13611830422523283, 0.18089624251759798], [1080, 0.15925925925925927, 0.13792466513878218, 0.1824684350769443], [1100, 0.1572727272727273, 0.13624330724841577, 0.18015321982344], [1120, 0.15625, 0.135463721175945, 0.1788594574608876], [1140, 0.15350877192982457, 0.13305984381814057, 0.17576314038295307], [1160, 0.1543103448275862, 0.13398785722593912, 0.17640257579627194], [1180, 0.15508474576271186, 0.13488692618654144, 0.17701797496315202], [1200, 0.155, 0.13497191830061583, 0.17673466253407283], [1220, 0.15655737704918032, 0.13660360165710048, 0.17818168648066798], [1240, 0.15806451612903225, 0.13818610574455228, 0.1795788392645675], [1260, 0.16031746031746033, 0.14047281678937557, 0.18176092489895745], [1280, 0.159375, 0.13973258580382716, 0.18059543494452218], [1300, 0.15846153846153846, 0.1390157867615591, 0.17946502011382448], [1320, 0.1590909090909091, 0.13975669432513835, 0.17995610573140952], [1340, 0.1582089552238806, 0.13906241693512458, 0.1788673585668439], [1360, 0.15735294117647058, 0.1383891457649549, 0.1778099356034883], [1380, 0.1608695652173913, 0.14186045224584973, 0.18133459187912257], [1400, 0.16071428571428573, 0.14184640969235326, 0.18101772485629464], [1420, 0.16126760563380282, 0.14250262721714027, 0.1814453597727165], [1440, 0.15902777777777777, 0.1405025491033178, 0.17895534851454895], [1460, 0.1589041095890411, 0.14050971674763707, 0.17868194359439002], [1480, 0.1608108108108108, 0.14244468855532672, 0.18053370516646863], [1500, 0.16333333333333333, 0.14496568928437417, 0.18302932834578894], [1520, 0.16381578947368422, 0.1455440319557745, 0.18339632750160975], [1540, 0.16298701298701299, 0.14487121003797487, 0.18239766946738845], [1560, 0.16282051282051282, 0.14482680014847274, 0.18209295313010876], [1580, 0.1620253164556962, 0.14418098081634514, 0.18113506232549062], [1600, 0.164375, 0.14653123349470623, 0.18345935606907068], [1620, 0.16419753086419753, 0.14647032290013798, 0.1831505195595895], [1640, 0.16341463414634147, 0.1458296176554112, 0.18221320796302404], [1660, 0.16325301204819276, 0.145779628281557, 0.1819257736668571], [1680, 0.1630952380952381, 0.14573138496600485, 0.1816446156541008], [1700, 0.1623529411764706, 0.1451231379757493, 0.18075681218134662], [1720, 0.16279069767441862, 0.1456398568714988, 0.18110029037855696], [1740, 0.16379310344827586, 0.14669474947645908, 0.18203329738943305], [1760, 0.1625, 0.14555450826191352, 0.18057864859492548], [1780, 0.16123595505617977, 0.14444015749258118, 0.17915632514019858], [1800, 0.16055555555555556, 0.14388172830424073, 0.17834361338233584], [1820, 0.15934065934065933, 0.14281073488669985, 0.1769764674268072], [1840, 0.1592391304347826, 0.14280212874056283, 0.17677021247287536], [1860, 0.15913978494623657, 0.14279415070666043, 0.17656794466697087], [1880, 0.1595744680851064, 0.14329549116235532, 0.17692295550473786], [1900, 0.15947368421052632, 0.1432834489147195, 0.1767223849607654], [1920, 0.15885416666666666, 0.14277372397987817, 0.17598388492799738], [1940, 0.15721649484536082, 0.1412884306461537, 0.1741879899231839], [1960, 0.15714285714285714, 0.14129799283717953, 0.17402063153193792], [1980, 0.15707070707070708, 0.1413077465826644, 0.17385626623919112], [2000, 0.158, 0.14227503522892565, 0.17473445134367768]]');
INSERT INTO "results" VALUES('8a25406c79b5da943188','share','{"n_hits": 316, "n": 2000, "share": 0.158, "low": 0.14227503522892565, "high": 0.17473445134367768, "distribution": "uniform"}');
INSERT INTO "results" VALUES('8a25406c79b5da943188','plausible_share','{"n_hits": 126, "n": 2000, "share": 0.063, "low": 0.05274888585871709, "high": 0.07455384258951649}');
CREATE TABLE review_answers (
	review_id VARCHAR(40) NOT NULL, 
	content JSON NOT NULL, 
	PRIMARY KEY (review_id), 
	FOREIGN KEY(review_id) REFERENCES reviews (id)
);
INSERT INTO "review_answers" VALUES('9a3db7e3c06424fb6309','{"file_id": null, "column": "score"}');
CREATE TABLE review_states (
	review_id VARCHAR(40) NOT NULL, 
	revision INTEGER NOT NULL, 
	changed FLOAT NOT NULL, 
	content JSON NOT NULL, 
	PRIMARY KEY (review_id, revision), 
	FOREIGN KEY(review_id) REFERENCES reviews (id)
);
INSERT INTO "review_states" VALUES('9a3db7e3c06424fb6309',0,1.79577206422098326682e+09,'{"data_id": null, "model_id": null, "schema": null, "scope": null, "fit": null, "stage": ""}');
INSERT INTO "review_states" VALUES('9a3db7e3c06424fb6309',1,1.79577206422365140913e+09,'{"data_id": "56235c2357a85555a17b", "model_id": null, "schema": {"version": 1, "label": "income", "favourable": ">50K", "protected": ["sex", "race"], "model_input": "auto", "layout": {"codes": {"workclass": ["Government", "Private", "Self-employed"], "marital_status": ["Divorced", "Married", "Never married", "Widowed"], "occupation": ["Assembly", "Clerical", "Engineering", "Management", "Professional", "Sales", "Service"], "race": ["Asian", "Black", "Other", "White"], "sex": ["Female", "Male"]}}, "columns": [{"name": "age", "kind": "integer", "min": 18, "max": 79}, {"name": "workclass", "kind": "categorical", "categories": ["Government", "Private", "Self-employed"]}, {"name": "education_years", "kind": "integer", "min": 8, "max": 18}, {"name": "marital_status", "kind": "categorical", "categories": ["Divorced", "Married", "Never married", "Widowed"]}, {"name": "occupation", "kind": "categorical", "categories": ["Assembly", "Clerical", "Engineering", "Management", "Professional", "Sales", "Service"]}, {"name": "race", "kind": "categorical", "categories": ["Asian", "Black", "Other", "White"]}, {"name": "sex", "kind": "categorical", "categories": ["Female", "Male"]}, {"name": "capital_gain_thousands", "kind": "integer", "min": 0, "max": 20}, {"name": "hours_per_week", "kind": "integer", "min": 10, "max": 70}, {"name": "income", "kind": "categorical", "categories": ["<=50K", ">50K"]}]}, "scope": null, "fit": null, "stage": ""}');
CREATE TABLE review_terms (
	review_id VARCHAR(40) NOT NULL, 
	content JSON NOT NULL, 
	PRIMARY KEY (review_id), 
	FOREIGN KEY(review_id) REFERENCES reviews (id)
);
CREATE TABLE reviews (
	id VARCHAR(40) NOT NULL, 
	owner VARCHAR(200) NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	created FLOAT NOT NULL, 
	changed FLOAT NOT NULL, 
	data_id VARCHAR(40), 
	model_id VARCHAR(40), 
	schema JSON, 
	scope JSON, 
	fit JSON, 
	stage VARCHAR(40) NOT NULL, 
	is_deleted BOOLEAN NOT NULL, 
	revision INTEGER DEFAULT '0' NOT NULL, 
	is_archived BOOLEAN DEFAULT 0 NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(data_id) REFERENCES files (id), 
	FOREIGN KEY(model_id) REFERENCES files (id)
);
INSERT INTO "reviews" VALUES('9a3db7e3c06424fb6309','ann@example.org','Census, spring',1.79577206421661520006e+09,1.7957720642233285904e+09,'56235c2357a85555a17b','4ab908b82a3f275261c6','{"version": 1, "label": "income", "favourable": ">50K", "protected": ["sex", "race"], "model_input": "auto", "layout": {"codes": {"workclass": ["Government", "Private", "Self-employed"], "marital_status": ["Divorced", "Married", "Never married", "Widowed"], "occupation": ["Assembly", "Clerical", "Engineering", "Management", "Professional", "Sales", "Service"], "race": ["Asian", "Black", "Other", "White"], "sex": ["Female", "Male"]}}, "columns": [{"name": "age", "kind": "integer", "min": 18, "max": 79}, {"name": "workclass", "kind": "categorical", "categories": ["Government", "Private", "Self-employed"]}, {"name": "education_years", "kind": "integer", "min": 8, "max": 18}, {"name": "marital_status", "kind": "categorical", "categories": ["Divorced", "Married", "Never married", "Widowed"]}, {"name": "occupation", "kind": "categorical", "categories": ["Assembly", "Clerical", "Engineering", "Management", "Professional", "Sales", "Service"]}, {"name": "race", "kind": "categorical", "categories": ["Asian", "Black", "Other", "White"]}, {"name": "sex", "kind": "categorical", "categories": ["Female", "Male"]}, {"name": "capital_gain_thousands", "kind": "integer", "min": 0, "max": 20}, {"name": "hours_per_week", "kind": "integer", "min": 10, "max": 70}, {"name": "income", "kind": "categorical", "categories": ["<=50K", ">50K"]}]}','{"protected": ["sex"], "threshold": null, "score_gap": 0.0, "fixed": [], "limits": {}, "bins": {}, "max_variants": 1000, "excluded": []}',NULL,'',0,2,0);
CREATE TABLE rule_pins (
	review_id VARCHAR(40) NOT NULL, 
	run_id VARCHAR(40) NOT NULL, 
	rule_index INTEGER NOT NULL, 
	note TEXT NOT NULL, 
	created FLOAT NOT NULL, 
	PRIMARY KEY (review_id, run_id, rule_index), 
	FOREIGN KEY(review_id) REFERENCES reviews (id), 
	FOREIGN KEY(run_id) REFERENCES runs (id)
);
INSERT INTO "rule_pins" VALUES('9a3db7e3c06424fb6309','8a25406c79b5da943188',0,'look',1.79577209379657936096e+09);
CREATE TABLE runs (
	id VARCHAR(40) NOT NULL, 
	review_id VARCHAR(40), 
	config JSON NOT NULL, 
	state VARCHAR(20) NOT NULL, 
	stop_reason VARCHAR(60), 
	message TEXT, 
	created FLOAT NOT NULL, 
	started FLOAT, 
	finished FLOAT, 
	evaluations INTEGER NOT NULL, 
	seconds FLOAT NOT NULL, 
	n_tried INTEGER NOT NULL, 
	n_found INTEGER NOT NULL, 
	n_rejected INTEGER NOT NULL, 
	phase VARCHAR(200) NOT NULL, 
	is_cancel_requested BOOLEAN NOT NULL, 
	reserved FLOAT, 
	heard FLOAT, 
	worker_host VARCHAR(255), 
	worker_pid INTEGER, 
	worker_born VARCHAR(60), 
	PRIMARY KEY (id), 
	FOREIGN KEY(review_id) REFERENCES reviews (id)
);
INSERT INTO "runs" VALUES('8a25406c79b5da943188','9a3db7e3c06424fb6309','{"kind": "estimate", "data_id": "56235c2357a85555a17b", "model_id": "4ab908b82a3f275261c6", "schema": {"version": 1, "label": "income", "favourable": ">50K", "protected": ["sex", "race"], "model_input": "auto", "layout": {"codes": {"workclass": ["Government", "Private", "Self-employed"], "marital_status": ["Divorced", "Married", "Never married", "Widowed"], "occupation": ["Assembly", "Clerical", "Engineering", "Management", "Professional", "Sales", "Service"], "race": ["Asian", "Black", "Other", "White"], "sex": ["Female", "Male"]}}, "columns": [{"name": "age", "kind": "integer", "min": 18, "max": 79}, {"name": "workclass", "kind": "categorical", "categories": ["Government", "Private", "Self-employed"]}, {"name": "education_years", "kind": "integer", "min": 8, "max": 18}, {"name": "marital_status", "kind": "categorical", "categories": ["Divorced", "Married", "Never married", "Widowed"]}, {"name": "occupation", "kind": "categorical", "categories": ["Assembly", "Clerical", "Engineering", "Management", "Professional", "Sales", "Service"]}, {"name": "race", "kind": "categorical", "categories": ["Asian", "Black", "Other", "White"]}, {"name": "sex", "kind": "categorical", "categories": ["Female", "Male"]}, {"name": "capital_gain_thousands", "kind": "integer", "min": 0, "max": 20}, {"name": "hours_per_week", "kind": "integer", "min": 10, "max": 70}, {"name": "income", "kind": "categorical", "categories": ["<=50K", ">50K"]}]}, "scope": {"protected": ["sex"], "threshold": null, "score_gap": 0.0, "fixed": [], "limits": {}, "bins": {}, "max_variants": 1000, "excluded": []}, "technique": "", "settings": {}, "budget": {"max_evaluations": 100000, "max_seconds": null, "max_found": null}, "seed": 1, "comparison": null, "max_starts": null, "distribution": "uniform", "n_samples": 2000, "versions": {"python": "3.11.7", "numpy": "2.4.6", "pandas": "3.1.1", "scikit-learn": "1.9.1", "numba": "0.68.1", "tensorflow": "2.21.0", "keras": "3.15.1", "onnxruntime": "1.31.1", "skops": "0.16.0", "shap": "0.51.0", "lime": "0.2.0.1", "z3-solver": "5.4.0.0", "evenhand": "0.1.0"}}','finished','every start and step done',NULL,1.79577206423218631746e+09,1.79577206472857666018e+09,1.79577209359959697725e+09,4000,9.44548300000178642221e-02,2000,316,0,'',0,1.79577206423370671272e+09,1.79577208498599433898e+09,'here',8318,'5060da10-bda4-4370-b10d-02b35a3aea83:76058');
CREATE TABLE seals (
	run_id VARCHAR(40) NOT NULL, 
	position INTEGER NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	sha256 VARCHAR(64) NOT NULL, 
	chain VARCHAR(64) NOT NULL, 
	PRIMARY KEY (run_id, position), 
	FOREIGN KEY(run_id) REFERENCES runs (id)
);
INSERT INTO "seals" VALUES('8a25406c79b5da943188',0,'the question','22b1b1d3446ed62a3c82aff2940f05e5336cca9038b7905f7b0631b6d3f326c9','1208c00cae3d00a170f81acf8f4069ba6069ca803e3a4a757a86e77d6cb3d810');
INSERT INTO "seals" VALUES('8a25406c79b5da943188',1,'the totals','969db1f5b5d9082d1f335096430cec4d06d111ae9f3b464618ebba0cd6fdf68e','e57f803c2f6266aefbe15e165dca61324ca6e9542da31713941da1b876d4d68a');
INSERT INTO "seals" VALUES('8a25406c79b5da943188',2,'the data file''s entry','b51203c53aed486e1157cad3cc2d182ef5a2e39ae04745c0b51d31d0df58ea57','65f2d386537fefe8d89475abde547e09f95e093b24ed428cee2e44300b64212c');
INSERT INTO "seals" VALUES('8a25406c79b5da943188',3,'the model file''s entry','75e9dd2bc453157cbfa54f8e0c3c0a7c73bdfa26a56c70b22de9ba16c107480a','f98e2c1666202c536c0b9fc67c5d3f22b1f59b3e88afab52ca4772eb146941c2');
INSERT INTO "seals" VALUES('8a25406c79b5da943188',4,'the order of events','0f221f42c07377b68c55bbb39cf279a38d8448d9fdc9fb3806b1af35545c9c5a','a204c95adccd92c61cc0e0e596f2b19c676aed752fdd5499d3ac2efc5def23f1');
INSERT INTO "seals" VALUES('8a25406c79b5da943188',5,'the list of pairs','4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945','b1f6ae3498b4dbf3542916c4f95e91487d222ecffd908046c1f8182a8d975404');
INSERT INTO "seals" VALUES('8a25406c79b5da943188',6,'the result ''plausible_share''','81f97d5a77dcfa7a2c28b59a36642f54eaff704a5806f7ab4901d56a3e22e326','7632ebd65bb53c535b9136ca3afd738132c17072437db542d946f829073e5e77');
INSERT INTO "seals" VALUES('8a25406c79b5da943188',7,'the result ''protections''','8f39d7d4b66e7951671b88965abfed525867b661ecd27c44fd779d6356b20f36','81745706f887472e8fdcc63e4d3e5b4574078bcd866f1f9e0d73366bfac2faa8');
INSERT INTO "seals" VALUES('8a25406c79b5da943188',8,'the result ''reading''','9c6c8bc558fc02d45808349c85c74c2f38e2aa5242fd3ad3ac41ad472c3288c1','021744357ce18e5531c7dafa8322fd47e0c1bc3768469520ddd706eec3f6dd11');
INSERT INTO "seals" VALUES('8a25406c79b5da943188',9,'the result ''share''','7e635bc36f3365c72e0ca4623d19bcbab1c6b1fe5f65ccbe9896cdad0ac62f1e','48bb00c9f002b3a8b0ae94b914bc4f9dc885e4f837df8e8695db7c3a321351ac');
INSERT INTO "seals" VALUES('8a25406c79b5da943188',10,'the result ''share_curve''','fdbb85ca188df3f0b53428dee5855b587c63a15b608ae6f7dce52cf508a9b3aa','4d72ae88834ef2b1e8f3e770da264fc0504f442985c4bd2f1672a549eb04eda1');
INSERT INTO "seals" VALUES('8a25406c79b5da943188',11,'the model that was made','4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945','8660683c3e6c6f24e88691851ebf91c9c4cbab418e09c9616345cfcda49c8c05');
CREATE TABLE uploads (
	owner VARCHAR(200) NOT NULL, 
	file_id VARCHAR(40) NOT NULL, 
	created FLOAT NOT NULL, 
	PRIMARY KEY (owner, file_id), 
	FOREIGN KEY(file_id) REFERENCES files (id)
);
INSERT INTO "uploads" VALUES('ann@example.org','56235c2357a85555a17b',1.79577206421620583533e+09);
CREATE TABLE versions (
	run_id VARCHAR(40) NOT NULL, 
	model_id VARCHAR(40) NOT NULL, 
	parent_id VARCHAR(40) NOT NULL, 
	state VARCHAR(20) NOT NULL, 
	created FLOAT NOT NULL, 
	PRIMARY KEY (run_id), 
	FOREIGN KEY(run_id) REFERENCES runs (id), 
	FOREIGN KEY(model_id) REFERENCES files (id), 
	FOREIGN KEY(parent_id) REFERENCES files (id)
);
CREATE INDEX reviews_of_owner ON reviews (owner, is_deleted);
CREATE INDEX ix_cohorts_review_id ON cohorts (review_id);
CREATE INDEX ix_comments_review_id ON comments (review_id);
CREATE INDEX ix_decisions_review_id ON decisions (review_id);
CREATE INDEX ix_runs_review_id ON runs (review_id);
CREATE INDEX ix_runs_state ON runs (state);
CREATE INDEX runs_by_time ON runs (review_id, created);
CREATE INDEX ix_progress_run_id ON progress (run_id);
CREATE INDEX ix_versions_model_id ON versions (model_id);
CREATE INDEX ix_versions_parent_id ON versions (parent_id);
COMMIT;
